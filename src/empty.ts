// Stands in for zod's locales (see [alias] in wrangler.toml): English messages are built in.
export {};
