// A request to a target.

import type { OutgoingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { Cancellable } from "@postern/apiserver/transport/cancellation";
import type { HeaderList } from "./header-list.ts";

export type UpstreamRequest = {
  readonly method: string;
  /** Below the base URL of the target, encoded, with the query. */
  readonly path: string;
  /** Complete, but for Host and what frames the body. A length is that of a stream. */
  readonly headers: OutgoingHttpHeaders | HeaderList;
  /** The protocol for which the request asks to leave HTTP. */
  readonly upgrade?: string;
  /** Whether it may take as long as it likes. */
  readonly lasts?: boolean;
  /** For a lasting exchange: whether at least the head of the response is due as soon as any other. */
  readonly answersAtOnce?: boolean;
  readonly signal: AbortSignal | Cancellable;
  /** A stream is read no faster than the target takes it, and is left as it is where the target takes no more. Absent: there is none. */
  readonly body?: string | Readable;
  /**
   * Whether the request may be sent again if the server closes a kept connection instead of answering. Default: for GET and HEAD
   * without a body.
   */
  readonly mayRepeat?: boolean;
};
