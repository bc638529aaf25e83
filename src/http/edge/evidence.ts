import * as z from "zod";

/** What callers have shown, as answers tell it. */
export const adminShown = z.object({ by: z.literal("admin_token") });
export const tokenShown = z.object({ by: z.literal("token"), id: z.string() });
export const oidcShown = z.object({
  by: z.literal("oidc"),
  issuer: z.string(),
  claims: z.record(z.string(), z.string()).readonly(),
});
export const hookShown = z.object({ by: z.literal("hook"), hook: z.string(), delivery: z.string() });
