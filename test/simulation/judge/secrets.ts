/** I7: no secret is told, logged or kept in clear, at the moment at which that is done. */
import type { Statement } from "../../../src/store/db.ts";
import type { LogEvent } from "../../../src/log.ts";
import type { Books } from "./books.ts";
import type { Answer } from "../world/installation.ts";
import { SECRETS } from "../world/settings.ts";

export type Secrets = ReturnType<typeof openSecrets>;

export function openSecrets(books: Books, ofCallers: () => Iterable<string>) {
  function look(text: string, where: string): void {
    for (const secret of [...SECRETS, ...ofCallers()])
      if (text.includes(secret)) books.broken.push(`I7: ${where} tells ${secret}`);
  }
  return {
    answered: ({ text }: Answer, what: string): void => look(text, `the answer to ${what}`),
    logged: (event: LogEvent): void => look(JSON.stringify(event), "the log"),
    /** What is sent to D1, read or written. */
    stated(statements: readonly Statement[]): void {
      for (const { text, params } of statements)
        for (const param of params) if (typeof param === "string") look(param, `D1 (${text.slice(0, 60)})`);
    },
  };
}
