import { createMiddleware } from "hono/factory";
import { HttpProblem } from "./problem.ts";
import type { AppEnv } from "./app-env.ts";

/** For routes that only an admin may use. */
export const requireAdmin = createMiddleware<AppEnv>(async (c, next) => {
  if (c.get("principal").kind !== "admin")
    throw new HttpProblem("forbidden", {
      detail: "This is for admins only.",
      rule: "needs the admin token",
      next: "Ask an admin.",
    });
  await next();
});
