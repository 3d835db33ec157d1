--
-- Checksums: those of the server, whatever the variant and the number of pages
--
CREATE EXTENSION test_checksum;

SELECT compare_checksums(2000, 1);

-- The oldest variant is always there; the CPU has others, or not.
SELECT variants[1], variants <@ '{default,avx2,avx512}' AS known FROM checksum_variants() AS variants;
