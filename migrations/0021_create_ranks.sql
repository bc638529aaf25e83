-- By which fact a machine was last to be made: what is older does not end it. `rank` is 0 while no fact has ended it.
ALTER TABLE hook_ranks ADD COLUMN create_rank INTEGER;
