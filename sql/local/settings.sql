-- local store: how a writer lays out the file
-- Vectors are noise to a compressor: ALP takes a few percent off the file, and
-- every search would pay for unpacking all of them.
SET disabled_compression_methods = 'alp,alprd';
