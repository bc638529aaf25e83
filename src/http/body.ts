import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import { HttpProblem, invalidField } from "./problem.ts";
import type { AppEnv } from "./app-env.ts";

/** The largest cloud-init as JSON can write it, and room for the rest. */
const MAX_BODY_BYTES = 256 * 1024;

export const limitBody = bodyLimit({
  maxSize: MAX_BODY_BYTES,
  onError: () => {
    throw new HttpProblem("too_large", {
      detail: `The body is larger than ${MAX_BODY_BYTES} bytes.`,
      next: "Keep cloud_init to 32768 bytes.",
    });
  },
});

/** A body is JSON whatever its content type says, so that plain `curl -d` works; one that is not is `malformed`. */
export const readJson = createMiddleware<AppEnv>(async (c, next) => {
  const text = await c.req.text();
  const headers = new Headers(c.req.raw.headers);
  if (text.trim() === "") headers.delete("Content-Type");
  else {
    try {
      JSON.parse(text, refuseProto);
    } catch (error) {
      if (error instanceof HttpProblem) throw error;
      const reason = error instanceof SyntaxError ? `: ${error.message}` : "";
      throw new HttpProblem("malformed", { detail: `The body is not JSON${reason}`, next: "Send a JSON object." });
    }
    headers.set("Content-Type", "application/json");
  }
  c.req.raw = new Request(c.req.url, { method: c.req.method, headers, ...(text.trim() === "" ? {} : { body: text }) });
  await next();
});

/** JavaScript's own key is dropped on the way by whatever copies an object, and so would be ignored, not refused. */
function refuseProto(key: string, value: unknown): unknown {
  if (key === "__proto__") throw invalidField("__proto__", "is a key that cannot be used");
  return value;
}

/** For routes that need a body: an absent one is an error, not `{}`. */
export const needsBody = createMiddleware<AppEnv>(async (c, next) => {
  if (c.req.header("Content-Type") === undefined)
    throw new HttpProblem("malformed", {
      detail: "A JSON body is required and there is none.",
      next: "Send a JSON object.",
    });
  await next();
});
