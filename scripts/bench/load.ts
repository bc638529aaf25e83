// Requests as fast as they are answered, over connections that stay open.
import { Agent, request } from "node:http";

export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What one connection sends next, and the status that must come: anything else is no measurement. */
export interface Load {
  readonly next: () => Request;
  readonly expected: number;
}

const CONNECTIONS = 16;

export const openConnections = (most = CONNECTIONS): Agent => new Agent({ keepAlive: true, maxSockets: most });

/** Milliseconds until the whole answer is there. */
export function send(agent: Agent, { method, url, headers = {}, body }: Request, expected: number): Promise<number> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
    const sent = request(url, { agent, method, headers: { ...headers, ...length } }, (answer) => {
      if (answer.statusCode === expected) answer.resume();
      else reject(new Error(`${method} ${url} was answered ${answer.statusCode}, and not ${expected}`));
      answer.on("end", () => resolve(performance.now() - began));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Answers in a second, over so many milliseconds. */
export async function throughputOf(agent: Agent, { next, expected }: Load, milliseconds: number): Promise<number> {
  const began = performance.now();
  const connection = async (): Promise<number> => {
    let answers = 0;
    for (; performance.now() - began < milliseconds; answers++) await send(agent, next(), expected);
    return answers;
  };
  const answers = await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return (answers.reduce((sum, count) => sum + count, 0) * 1000) / (performance.now() - began);
}
