// A process that changes objects all the time, so that watches have much to be told.
// Arguments: URL, path of the collection, key, how many objects, bytes of each. Sends its parent how many changes it has made.

import { connect } from "node:http2";

const [url = "", path = "", key = "", objects = "", bytes = ""] = process.argv.slice(2);
const AT_ONCE = 2;
/** A pace that a client on a busy machine can follow. */
const PAUSE_MS = 30;
const session = connect(url, { rejectUnauthorized: false });
session.on("error", () => process.exit(1));
const text = "x".repeat(Number(bytes));
let changes = 0;

function send(method: string, target: string, body: object): Promise<number> {
  return new Promise((resolve) => {
    const stream = session.request({
      ":method": method,
      ":path": target,
      authorization: `Bearer ${key}`,
      "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
    });
    let status = 0;
    stream.on("response", (headers) => {
      status = Number(headers[":status"]);
    });
    stream.on("error", () => undefined).on("close", () => resolve(status));
    stream.resume().end(JSON.stringify(body));
  });
}

const nameOf = (n: number): string => `event-source-${n % Number(objects)}`;

async function change(n: number): Promise<void> {
  const annotations = { text: `${n} ${text}` };
  const status = await send("PATCH", `${path}/${nameOf(n)}`, { metadata: { annotations } });
  const made = status === 404 ? await send("POST", path, { metadata: { name: nameOf(n), annotations } }) : status;
  if (made < 300) changes += 1;
}

async function appendNext(first: number): Promise<void> {
  for (let n = first; !session.destroyed; n += AT_ONCE) {
    await change(n);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

for (let n = 0; n < AT_ONCE; n++) void appendNext(n);
setInterval(() => process.send?.(changes), 250);
process.on("disconnect", () => process.exit());
