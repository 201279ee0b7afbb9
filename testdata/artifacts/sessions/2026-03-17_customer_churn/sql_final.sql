SELECT customer_id FROM dim_customer WHERE last_shipment_at < DATE '2025-12-01';
