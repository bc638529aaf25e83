/** One event of the log: a flat object without secrets, which Workers Logs indexes by field. */
export type LogEvent = { readonly event: string } & Readonly<Record<string, string | number | boolean | null>>;

export type Log = (event: LogEvent) => void;

/** Writes one JSON line an event. */
export const consoleLog: Log = (event) => console.log(JSON.stringify(event));
