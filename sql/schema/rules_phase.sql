-- set the phase of a type
INSERT INTO derived.phase_of_type VALUES ($1, $2)
