// The HTTP face of the simulator's controls: tests and people play fate through it.
import {
  parseAdvanceSeconds,
  parseFault,
  parseImage,
  parsePricePercent,
  parseReset,
  parseServer,
  parseStock,
  parseTickAt,
} from "./control-input.ts";
import type { Controls } from "./controls.ts";
import { ControlError } from "./errors.ts";

/** Runs the Worker's cron handler at that time (unix milliseconds) and gives what it reports. */
export type OnTick = (at_ms: number) => Promise<unknown>;

type Answer = { status: number; body: unknown };

/** Answers a request below `/_sim/`; a mistake of the caller is a problem document that says which. */
export async function answerControl(
  controls: Controls,
  onTick: OnTick | undefined,
  request: Request,
): Promise<Response> {
  try {
    const { status, body } = await dispatch(controls, onTick, request);
    return Response.json(body, { status });
  } catch (error) {
    const status = error instanceof ControlError ? error.status : 500;
    const detail = error instanceof Error ? error.message : String(error);
    const headers = { "Content-Type": "application/problem+json" };
    return Response.json({ title: "simulator control", status, detail }, { status, headers });
  }
}

async function dispatch(controls: Controls, onTick: OnTick | undefined, request: Request): Promise<Answer> {
  const text = await request.text();
  const { pathname } = new URL(request.url);
  switch (`${request.method} ${pathname}`) {
    case "GET /_sim/state":
      return { status: 200, body: controls.state() };
    case "GET /_sim/requests":
      return { status: 200, body: { requests: controls.requests() } };
    case "POST /_sim/reset":
      controls.reset(parseReset(json(text)));
      return { status: 200, body: controls.state() };
    case "POST /_sim/clock":
      controls.advance(parseAdvanceSeconds(json(text)));
      return { status: 200, body: { now: new Date(controls.now()).toISOString() } };
    case "POST /_sim/servers":
      return { status: 201, body: { server: controls.addServer(parseServer(json(text))) } };
    case "POST /_sim/images":
      return { status: 201, body: { image: controls.addImage(parseImage(json(text))) } };
    case "POST /_sim/stock":
      return { status: 200, body: { stock: controls.stock(parseStock(json(text))) } };
    case "POST /_sim/prices":
      return setPrices(controls, parsePricePercent(json(text)));
    case "GET /_sim/bill":
      return { status: 200, body: controls.bill() };
    case "POST /_sim/faults":
      controls.fault(parseFault(json(text)).fault);
      return { status: 201, body: { faults: controls.state().faults } };
    case "DELETE /_sim/faults":
      controls.clearFaults();
      return { status: 200, body: { faults: [] } };
    case "POST /_sim/tick":
      return tick(onTick, parseTickAt(json(text)));
    default:
      throw new ControlError(`the simulator has no ${request.method} ${pathname}`, 404);
  }
}

function setPrices(controls: Controls, percent: number): Answer {
  controls.setPrices(percent);
  return { status: 200, body: { percent } };
}

async function tick(onTick: OnTick | undefined, at_ms: number): Promise<Answer> {
  if (onTick === undefined) throw new ControlError("nothing here ticks: the simulator runs without a Worker", 501);
  // JSON has no undefined.
  return { status: 200, body: (await onTick(at_ms)) ?? null };
}

function json(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch (error) {
    throw new ControlError(`the body is no JSON: ${String(error)}`);
  }
}
