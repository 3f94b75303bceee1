// Dependencies of the sign-in routes.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { Foundation } from "../../foundation/foundation.ts";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import type { ProofVerifier } from "../access-keys/proofs/proof-verifier.ts";
import type { OneTimeLink } from "./one-time-link.ts";
import type { ClientKeys } from "./providers/client-keys.ts";
import type { IdentityProviders } from "./providers/identity-provider-index.ts";
import type { ProviderClient } from "./providers/provider-client.ts";
import type { SignInTransactions } from "./sign-in-flow.ts";
import type { SignInRecords } from "./sign-in-records.ts";
import type { SignInService } from "./sign-in-service.ts";

export type SignInRoutesDeps = {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "find" | "whenFound" | "refusalOf">;
  readonly proofs: ProofVerifier;
  readonly providers: Pick<IdentityProviders, "get" | "all">;
  readonly client: ProviderClient;
  readonly clientKeys: Pick<ClientKeys, "published">;
  readonly transactions: SignInTransactions;
  readonly records: SignInRecords;
  readonly service: SignInService;
  /** The first administrator, who signs in with the link on the terminal. */
  readonly administrator: {
    readonly link: OneTimeLink;
    /** Undefined: this server has no administrator's kubeconfig. */
    readonly key: () => Promise<string | undefined>;
  };
  /** Path of the page after a sign-in that names no other: the console, if this server has one. */
  readonly home: string;
  /** URL of this server for clients, such as `https://postern.example.com:8443`. */
  readonly publicUrl: () => string;
  readonly clock: Clock;
  readonly rateLimiter: Foundation["rateLimiter"];
  readonly onError: (error: unknown, subject: string) => void;
};
