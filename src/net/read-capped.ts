/** The body of an answer as text, or null once it is larger than `limit` bytes; the rest is then not waited for. */
export async function readCapped(response: Response, limit: number): Promise<string | null> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let size = 0;
  let text = "";
  const chunks: AsyncIterable<unknown> = response.body;
  for await (const chunk of chunks) {
    if (!(chunk instanceof Uint8Array)) continue;
    size += chunk.byteLength;
    if (size > limit) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
