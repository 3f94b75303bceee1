// The state of one TLS connection of the listener.

import type { ReadConnection } from "../backpressure/read-throttle.ts";
import type { Connection } from "../connections/connection.ts";
import type { Guest } from "../connections/connection-gate.ts";
import type { DepartingConnection } from "./departures.ts";

export type SocketState = Guest &
  DepartingConnection & {
    /** Key for the turns in which requests begin: the last known user of the connection, until then its origin. */
    client: string;
    isKnown: boolean;
    readonly connection: Connection;
    /** Where it speaks HTTP/2. */
    reading: ReadConnection | undefined;
    /** A response over HTTP/1.1 has ended. One function for all of them. */
    readonly onAnswered: () => void;
  };
