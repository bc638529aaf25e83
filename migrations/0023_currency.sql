-- In what the project pays, as the provider last said, and the credential under which that was asked: another's project may pay otherwise.
ALTER TABLE catalogues ADD COLUMN currency TEXT;
ALTER TABLE catalogues ADD COLUMN credential TEXT;
