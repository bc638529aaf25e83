/** So much of a body is asked for at a time, because each time costs more than the bytes do. */
const CHUNK_BYTES = 64 * 1024;

/** The body of an answer as text, or null once it is larger than `limit` bytes; the rest is then not waited for. */
export async function readCapped(response: Response, limit: number): Promise<string | null> {
  const { body } = response;
  if (body === null) return "";
  const size = sizeOf(response.headers);
  if (size === null) return readUpTo(body, limit);
  if (size <= limit) return response.text();
  await body.cancel();
  return null;
}

/** How many bytes a body has, where that is told; of one that comes packed it tells only how many those are. */
function sizeOf(headers: Headers): number | null {
  const told = headers.get("Content-Length") ?? "";
  return /^\d{1,12}$/.test(told) && !headers.has("Content-Encoding") ? Number(told) : null;
}

async function readUpTo(body: ReadableStream<unknown>, limit: number): Promise<string | null> {
  const reader = body.getReader({ mode: "byob" });
  const decoder = new TextDecoder();
  let size = 0;
  let text = "";
  for (let room = new Uint8Array(CHUNK_BYTES); ;) {
    const { done, value } = await reader.readAtLeast(CHUNK_BYTES, room);
    size += value?.byteLength ?? 0;
    if (size > limit) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: !done });
    if (done) return text;
    room = new Uint8Array(value.buffer);
  }
}
