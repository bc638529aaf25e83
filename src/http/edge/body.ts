import type { Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import { HttpProblem, invalidField } from "./problem.ts";
import type { AppEnv } from "./app-env.ts";

/** The largest cloud-init as JSON can write it, and room for the rest. */
const MAX_BODY_BYTES = 256 * 1024;

const refuseLarge = bodyLimit({
  maxSize: MAX_BODY_BYTES,
  onError: () => {
    throw new HttpProblem("too_large", {
      detail: `The body is larger than ${MAX_BODY_BYTES} bytes.`,
      next: "Keep cloud_init to 32768 bytes.",
    });
  },
});

/** Takes the bytes of a body in, as many as there may be, and looks at none of them. */
export function takeBody(c: Context<AppEnv, string>): Promise<void> {
  const take = async () => {
    try {
      await refuseLarge(c, async () => {});
      await c.req.arrayBuffer();
    } catch (error) {
      // Whatever else comes of reading it is its sender's: mostly it has hung up.
      throw error instanceof HttpProblem ? error : malformed("The body broke off before its end.");
    }
  };
  const taken = c.get("taken") ?? take();
  c.set("taken", taken);
  return taken;
}

export const limitBody = createMiddleware<AppEnv>(async (c, next) => {
  await takeBody(c);
  await next();
});

/** A body is JSON whatever its content type says, so that plain `curl -d` works; one that is not is `malformed`. */
export const readJson = createMiddleware<AppEnv>(async (c, next) => {
  const text = decode(await c.req.arrayBuffer());
  const headers = new Headers(c.req.raw.headers);
  const isAbsent = text.trim() === "";
  if (isAbsent) headers.delete("Content-Type");
  else {
    parseJson(text);
    headers.set("Content-Type", "application/json");
  }
  // The body has been read and stays cached in `c.req`; only its type is said anew.
  c.req.raw = new Request(c.req.url, { method: c.req.method, headers });
  await next();
});

const malformed = (detail: string): HttpProblem =>
  new HttpProblem("malformed", { detail, next: "Send a JSON object in UTF-8." });

/** Text of bytes; what is no UTF-8 is thrown as `malformed`. */
export function decode(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw malformed("The body is not UTF-8.");
  }
}

/** What JSON says; what is no JSON is thrown as `malformed`. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, refuseProto);
  } catch (error) {
    if (error instanceof HttpProblem) throw error;
    // The engine's own message quotes the body, which may hold secrets; where it stumbled is enough.
    const position = error instanceof SyntaxError ? /at position \d+/.exec(error.message)?.[0] : undefined;
    throw malformed(`The body is not JSON${position === undefined ? "" : `: it breaks ${position}`}.`);
  }
}

/** JavaScript's own key is dropped on the way by whatever copies an object, and so would be ignored, not refused. */
function refuseProto(key: string, value: unknown): unknown {
  if (key === "__proto__") throw invalidField("__proto__", "is a key that cannot be used");
  return value;
}

/** For routes that change something and take none: whoever sends one believes that it says how, and it would be done otherwise. */
export const refuseBody = createMiddleware<AppEnv>(async (c, next) => {
  await takeBody(c);
  if (decode(await c.req.arrayBuffer()).trim() !== "")
    throw invalidField("body", "must be left out: this call takes none; what can be said of it stands in its query");
  await next();
});

/** For routes that need a body: an absent one is an error, not `{}`. */
export const needsBody = createMiddleware<AppEnv>(async (c, next) => {
  if (c.req.header("Content-Type") === undefined) throw malformed("A JSON body is required and there is none.");
  await next();
});
