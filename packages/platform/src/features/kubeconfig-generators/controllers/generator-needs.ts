// The features that a generator's controller asks.

import type { ControllerAudit } from "@postern/apiserver/chain/controller-audit";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { KeyMint } from "../../access-keys/kinds/mint-keys.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import type { TokenIssuer } from "../../virtual-clusters/kinds/virtual-cluster-instances/subresources/issue-token.ts";
import type { PlatformEndpoint } from "../../virtual-clusters/platform-endpoint.ts";
import type { GeneratorKinds } from "../kinds/index.ts";

export type GeneratorNeeds = {
  readonly keys: AccessKeys;
  readonly mint: KeyMint;
  readonly directory: Directory;
  readonly authorization: Authorization;
  readonly kinds: Pick<GeneratorKinds, "writes">;
  readonly issuer: TokenIssuer;
  /** Secrets have the CA certificates that clients are to trust. */
  readonly endpoint: PlatformEndpoint;
  readonly audit: ControllerAudit;
};
