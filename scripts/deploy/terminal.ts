// A person at a terminal, if there is one.
import { createInterface } from "node:readline/promises";

/** Who can be asked. */
export interface Terminal {
  /** False in CI and behind pipes: nobody is there to ask. */
  readonly isThere: boolean;
  /** True only for `yes`. */
  confirm(question: string): Promise<boolean>;
  /** What is typed or pasted up to the end of the line, shown nowhere. Rejects on Ctrl-C. */
  secret(question: string): Promise<string>;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdin, stdout } = process;
  return {
    isThere: stdin.isTTY && stdout.isTTY,
    async confirm(question) {
      const asking = createInterface({ input: stdin, output: stdout });
      const answer = await asking.question(question);
      asking.close();
      return answer.trim() === "yes";
    },
    async secret(question) {
      // Before the question stands there: whoever is quick would see what they type.
      stdin.setRawMode(true);
      stdin.resume();
      stdout.write(question);
      try {
        return await readLine();
      } finally {
        stdin.setRawMode(false);
        stdin.pause();
        stdout.write("\n");
      }
    },
  };
}

const [CTRL_C, BACKSPACE, DELETE] = ["\u0003", "\b", "\u007f"];

function readLine(): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = "";
    const take = (chunk: Buffer): void => {
      for (const character of chunk.toString()) {
        if (character === CTRL_C) return end(() => reject(new Error("nothing was done")));
        if (character === "\r" || character === "\n") return end(() => resolve(typed.trim()));
        typed = character === BACKSPACE || character === DELETE ? typed.slice(0, -1) : typed + character;
      }
    };
    const end = (settle: () => void): void => {
      process.stdin.off("data", take);
      settle();
    };
    process.stdin.on("data", take);
  });
}
