// One request, as messages between the front and a cluster thread.

import type { CredentialAnnotations } from "@postern/apiserver/authentication/authenticator";
import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestInfo } from "@postern/apiserver/request/request-info";
import type { RequestHeaders } from "@postern/apiserver/transport/api-request";
import type { ResponseHeaders } from "@postern/apiserver/transport/api-response";

export type RequestMessage = {
  /** The uid of the instance of the cluster. */
  readonly uid: string;
  /** A number that the front gave it. */
  readonly request: number;
  readonly method: string;
  readonly path: string;
  readonly basePath: string;
  readonly query: string;
  readonly requestUri: string;
  readonly headers: RequestHeaders;
  readonly httpVersion: "1.1" | "2.0";
  readonly remoteAddress: string;
  readonly host: string;
  /** By a number: limits of a connection hold for all its watches. */
  readonly connection: number;
  /** The value of the Upgrade header; undefined if the client asked for none. */
  readonly upgrade: string | undefined;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly caller: UserInfo;
  readonly credential: CredentialMessage | undefined;
  /** Members of the context that lead back to the front. */
  readonly has: {
    readonly outerAuthorizer: boolean;
    readonly open: boolean;
    readonly takeTurn: boolean;
    readonly outside: boolean;
  };
  readonly isLongRunning: boolean;
  readonly receivedAt: number;
  readonly auditId: string;
  readonly keepsBodies: boolean;
  /** Where the front has read it. */
  readonly body: Uint8Array | undefined;
};

export type CredentialMessage = {
  readonly id: string;
  readonly annotations: CredentialAnnotations | undefined;
  readonly lineage: CredentialLineage | undefined;
};

/** A call of the audit context of a request. */
export type AuditCall = readonly [
  method:
    | "annotate"
    | "setImpersonatedUser"
    | "setObjectRef"
    | "setRequestObject"
    | "setResponseStatus"
    | "setPanicked",
  ...args: readonly unknown[],
];

export type ResponseMessage = {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Undefined for a stream, whose parts follow as notes. */
  readonly bytes: Uint8Array | string | undefined;
  readonly isUpgraded: boolean;
  readonly audit: readonly AuditCall[];
  readonly warnings: readonly string[];
};
