--
-- Sources that pass over many blocks
--
SELECT walk('skip', 1000000, false), walk('sample', 1000000, false);

-- They can be canceled meanwhile.
SELECT walk('skip', 1000000, true);
SELECT walk('sample', 1000000, true);

-- Nothing to pass over
SELECT walk('skip', 1, false), walk('sample', 1, false);
