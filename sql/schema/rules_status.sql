-- set a status of solved pairs
INSERT INTO derived.solved_status VALUES ($1)
