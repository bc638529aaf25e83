// Hono alone, with one route: the least that mayfly's start could be.
import { Hono } from "hono";

const app = new Hono();
app.get("/nothing/:at-all", (c) => c.json({}));

export default app;
