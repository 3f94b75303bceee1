// Runs in every worker of the tests before them (vitest's setupFiles): records what goes through the HTTP clients of Node, whoever
// uses them, and makes temporary directories below the folder of the run.

import { createHash } from "node:crypto";
import { subscribe } from "node:diagnostics_channel";
import { ClientRequest, type IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import { KEEP_FILES } from "@postern/platform/testing/temporary-directory";
import { inject } from "vitest";
import { runRecorder, setRunRecorder } from "./recorder-of-run.ts";
import { createRunRecorder, filesFolder, type RunRecorder } from "./run-record.ts";

declare module "vitest" {
  // Vitest's own place for what a global setup hands to the workers.
  interface ProvidedContext {
    readonly runFolder: string;
  }
}

/** A watch goes on and on: it is written down in pieces, each with the end of the one before it. */
const PIECE_BYTES = 1 << 20;
const OVERLAP_BYTES = 4096;
/** Documents such as that of OpenAPI come a thousand times; smaller answers are cheap to look through again. */
const REPEATED_BYTES = 4096;

/** One worker may run many files of tests. */
if (runRecorder() === undefined) {
  const folder = inject("runFolder");
  process.env["TMPDIR"] = filesFolder(folder);
  process.env[KEEP_FILES] = "yes";
  const recorder = createRunRecorder(folder);
  setRunRecorder(recorder);
  recordRequests(recorder);
  recordAnswers(recorder);
}

/** Of the bodies of requests only those that may bring a secret along. */
function recordRequests(recorder: RunRecorder): void {
  const bodies = new WeakMap<ClientRequest, Buffer[]>();
  const keep = (request: ClientRequest, chunk: unknown): void => {
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return;
    if (!/accesskeys|selves|tokenreviews/.test(request.path)) return;
    bodies.set(request, [...(bodies.get(request) ?? []), Buffer.from(chunk as string)]);
  };
  for (const name of ["write", "end"] as const) {
    const original = ClientRequest.prototype[name] as (...args: unknown[]) => unknown;
    Object.defineProperty(ClientRequest.prototype, name, {
      configurable: true,
      writable: true,
      value(this: ClientRequest, ...args: unknown[]) {
        keep(this, args[0]);
        const result = original.apply(this, args);
        const body = name === "end" ? bodies.get(this) : undefined;
        if (body !== undefined) recorder.write("request", `${this.method} ${this.path}`, Buffer.concat(body));
        return result;
      },
    });
  }
}

/** Looks on while the answer is read, and reads nothing itself. */
function recordAnswers(recorder: RunRecorder): void {
  const seen = new Set<string>();
  subscribe("http.client.response.finish", (message) => {
    // As Node documents the channel.
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    const place = `${request.method} ${request.path} ${response.statusCode}`;
    recorder.write("answer", `${place} (headers)`, Buffer.from(JSON.stringify(response.rawHeaders)));
    let chunks: Buffer[] = [];
    let size = 0;
    const flush = (isLast: boolean): void => {
      const sent = Buffer.concat(chunks);
      chunks = isLast ? [] : [sent.subarray(-OVERLAP_BYTES)];
      size = 0;
      const content = isLast ? decoded(response, sent) : sent;
      if (content.length > REPEATED_BYTES) {
        const digest = createHash("sha1").update(content).digest("base64");
        if (seen.has(digest)) return;
        seen.add(digest);
      }
      if (content.length > 0) recorder.write("answer", place, content);
    };
    const push = response.push;
    response.push = function (this: IncomingMessage, chunk: unknown, encoding?: BufferEncoding) {
      if (chunk instanceof Uint8Array) {
        chunks.push(Buffer.from(chunk));
        size += chunk.length;
        if (size > PIECE_BYTES) flush(false);
      }
      if (chunk === null) flush(true);
      return push.call(this, chunk, encoding);
    };
    response.once("close", () => flush(true));
  });
}

function decoded(response: IncomingMessage, content: Buffer): Buffer {
  if (response.headers["content-encoding"] !== "gzip") return content;
  try {
    return gunzipSync(content);
  } catch {
    // The client has gone away in the middle of it.
    return content;
  }
}
