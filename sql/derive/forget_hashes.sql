-- the shape of the records changed: their hashes are to be made again
DELETE FROM derived.solved_hash;
DELETE FROM derived.memory_hash;
