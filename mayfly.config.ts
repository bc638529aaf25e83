// Who may do what, and templates of machines. As it ships it is empty: the admin, and tokens that an admin mints, may do everything
// to what is theirs. docs/how-to/policies.md says what can stand here. Updates never change this file.
import { defineConfig } from "./src/deployment.ts";

export default defineConfig({});
