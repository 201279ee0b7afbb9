-- forget the runs before they are taken from the state directory
DELETE FROM loaded.run
