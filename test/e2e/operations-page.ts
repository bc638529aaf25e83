// docs/operations.md as a program reads it: by its sections the commands and settings in their order.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "./npm-start.ts";

export interface Block {
  readonly language: string;
  /** As it is copied: without the indentation of its step. */
  readonly text: string;
}

export interface Page {
  readonly text: string;
  /** The blocks by the headings of their sections. */
  readonly sections: ReadonlyMap<string, readonly Block[]>;
}

export async function readPage(): Promise<Page> {
  const text = await readFile(join(ROOT, "docs/operations.md"), "utf8");
  const sections = text.split(/^## /m).slice(1);
  return { text, sections: new Map(sections.map((section) => [section.split("\n")[0] ?? "", blocksIn(section)])) };
}

const blocksIn = (section: string): Block[] =>
  [...section.matchAll(/^( *)(?:\d+\. )?```(\w+)\n(.*?)\n\1 *```$/gms)].map(([, , language = "", lines = ""]) => ({
    language,
    text: dedent(lines.split("\n")).join("\n"),
  }));

function dedent(lines: readonly string[]): string[] {
  const depth = /^ */.exec(lines[0] ?? "")?.[0].length ?? 0;
  return lines.map((line) => line.slice(depth));
}
