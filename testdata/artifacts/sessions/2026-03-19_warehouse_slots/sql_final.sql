SELECT avg(used_slots * 1.0 / total_slots) AS fill_rate FROM fact_slot_day;
