// The controller of kubeconfig generators.

import type { ControllerAudit } from "@postern/apiserver/chain/controller-audit";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { KeyMint } from "../../access-keys/kinds/mint-keys.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import type { TokenIssuer } from "../../virtual-clusters/kinds/virtual-cluster-instances/subresources/issue-token.ts";
import type { PlatformEndpoint } from "../../virtual-clusters/platform-endpoint.ts";
import type { GeneratorKinds } from "../kinds/index.ts";
import { createFleetSecrets } from "./fleet-secrets.ts";
import { createGeneratorController } from "./generator-controller.ts";

export type GeneratorControllerNeeds = {
  readonly keys: AccessKeys;
  readonly mint: KeyMint;
  readonly directory: Directory;
  readonly authorization: Authorization;
  readonly kinds: Pick<GeneratorKinds, "writes">;
  readonly issuer: TokenIssuer;
  readonly endpoint: PlatformEndpoint;
  readonly audit: ControllerAudit;
};

export function kubeconfigGeneratorControllers(
  port: ControllerPort,
  { names, own, installed, lookup }: Foundation,
  { keys, mint, directory, authorization, kinds, issuer, endpoint, audit }: GeneratorControllerNeeds,
): readonly Controller[] {
  const { runtime } = port;
  const secretResource = installed("", "Secret");
  return [
    createGeneratorController(port, {
      names,
      lookup,
      clock: runtime.clock,
      keys: keys.index,
      directory,
      authorizer: authorization.authorizer,
      issuer,
      endpoint,
      audit,
      revoke: mint.revoke,
      writes: kinds.writes,
      generators: own("KubeconfigGenerator"),
      instances: () => own("VirtualClusterInstance"),
      accessKeys: own("OwnedAccessKey"),
      projects: own("Project"),
      secretResource,
      secrets: createFleetSecrets({ names, runtime, keys, secrets: () => secretResource }),
    }),
  ];
}
