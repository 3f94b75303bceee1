// Records the traffic of Node's HTTP/2 client.

import {
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Duplex } from "node:stream";
import { mayBringSecret, recordBody, recordStream } from "./record-stream.ts";
import type { RunRecorder } from "./run-record.ts";

/** The traffic of the etcd store: its files are scanned instead. */
const STORE_REQUESTS = /^\/etcdserverpb\./;

type Session = { request(headers?: OutgoingHttpHeaders, options?: object): ClientHttp2Stream };

export function recordHttp2(recorder: RunRecorder): void {
  const prototype = sessionPrototype();
  const { request } = prototype;
  const places = new WeakMap<object, string>();
  let streams: object | undefined;
  prototype.request = function (this: Session, headers: OutgoingHttpHeaders = {}, options?: object) {
    const stream = request.call(this, headers, options);
    const asked = `${headers[constants.HTTP2_HEADER_METHOD] ?? "GET"} ${headers[constants.HTTP2_HEADER_PATH] ?? "/"}`;
    const path = String(headers[constants.HTTP2_HEADER_PATH] ?? "/");
    if (STORE_REQUESTS.test(path)) return stream;
    if (streams === undefined) {
      streams = Object.getPrototypeOf(stream) as object;
      recordBody(recorder, streams, (each) => places.get(each));
    }
    if (mayBringSecret(path)) places.set(stream, asked);
    recordAnswer(recorder, stream, asked);
    return stream;
  };
}

function recordAnswer(recorder: RunRecorder, stream: ClientHttp2Stream, asked: string): void {
  let place = asked;
  let isGzip = false;
  const recordHeaders = (headers: IncomingHttpHeaders): void =>
    recorder.write("answer", `${place} (headers)`, Buffer.from(JSON.stringify(headers)));
  stream.once("response", (headers) => {
    place = `${asked} ${headers[constants.HTTP2_HEADER_STATUS]}`;
    isGzip = headers["content-encoding"] === "gzip";
    recordHeaders(headers);
  });
  stream.once("trailers", recordHeaders);
  recordStream(recorder, stream, { place: () => place, isGzip: () => isGzip });
}

/** Node exports sessions, but not their class. */
function sessionPrototype(): Session {
  const nowhere = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const session = connect("http://nowhere", { createConnection: () => nowhere });
  session.on("error", () => {}).destroy();
  return Object.getPrototypeOf(session) as Session;
}
