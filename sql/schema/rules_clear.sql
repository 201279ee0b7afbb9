-- forget the rules before they are set
DELETE FROM derived.rule;
DELETE FROM derived.phase_of_type;
DELETE FROM derived.solved_status;
