// A port for proxied connections that have left HTTP: their bytes may pass through it on their way, such as into a recording.

import type { IncomingHttpHeaders } from "node:http";
import type { Transform } from "node:stream";

/** The bytes of both directions, each through a stream of its own. A stream that is destroyed ends the connection. */
export type TappedStreams = { readonly fromClient: Transform; readonly fromTarget: Transform };

export type StreamTap = {
  /** Called with the headers of the target's 101, before the client has one. Throws an ApiError in place of it. */
  begin(headers: IncomingHttpHeaders): TappedStreams;
  /** The connection is closed on both sides. Never rejects. */
  end(): Promise<void>;
};
