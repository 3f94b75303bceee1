// The audit ID of a request: the same in its response, its log lines and its audit events.

import type { Random } from "../runtime/clock.ts";
import { newUid } from "../runtime/new-uid.ts";

/** Identifiers that a client may choose: short, and harmless in headers and logs. */
const ACCEPTABLE = /^[\w.:-]{1,64}$/;

/** The identifier of a request: the client's own where it sent an acceptable one, else a new UUID. */
export const auditIdOf = (sent: string, random: Random): string => (ACCEPTABLE.test(sent) ? sent : newUid(random));
