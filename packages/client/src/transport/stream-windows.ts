// How much the peer of an HTTP/2 session may send on each stream before it is read. What is not read waits in this process, so that each of many streams
// may have less than each of a few.

import type { Http2Session } from "node:http2";

export type StreamWindows = {
  /** Whether one more stream would have no more unread than all may, by what the peer has acknowledged. */
  hasRoom(streams: number): boolean;
  /** Sends the window, where it is to be another one for so many streams. */
  adjust(streams: number): void;
};

export type WindowLimits = {
  /** Bytes of each stream, in powers of two. */
  readonly most: number;
  readonly least: number;
  /** Bytes of all, for as long as each has more than the least. */
  readonly total: number;
};

/** `most` is the initial window of the settings that the session began with. `onAcknowledged` is called once the peer keeps to another window. */
export function createStreamWindows(
  session: Pick<Http2Session, "settings" | "destroyed" | "closed">,
  { most, least, total }: WindowLimits,
  onAcknowledged: () => void = () => undefined,
): StreamWindows {
  let acknowledged = most;
  let wanted = most;
  let isSending = false;

  const windowFor = (streams: number): number => {
    let bytes = most;
    while (bytes > least && bytes * streams > total) bytes /= 2;
    return bytes;
  };
  function send(): void {
    if (isSending || wanted === acknowledged || session.destroyed || session.closed) return;
    const sent = wanted;
    isSending = true;
    session.settings({ initialWindowSize: sent }, (error) => {
      isSending = false;
      if (error !== null) return;
      acknowledged = sent;
      send();
      onAcknowledged();
    });
  }
  return {
    hasRoom: (streams) => acknowledged === least || (streams + 1) * acknowledged <= total,
    adjust(streams) {
      const now = windowFor(streams);
      // It grows late, so that a stream more or less changes nothing.
      wanted = now < wanted ? now : Math.max(wanted, Math.min(now, windowFor(streams * 2)));
      send();
    },
  };
}
