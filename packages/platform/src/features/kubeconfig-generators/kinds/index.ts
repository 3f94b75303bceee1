// The kind KubeconfigGenerator.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../foundation/foundation.ts";
import { createStatusWrites, type StatusWrites } from "../../../foundation/kinds/status-writes.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { KeyMint } from "../../access-keys/kinds/mint-keys.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import { KUBECONFIG_GENERATORS, kubeconfigGenerators } from "./kubeconfig-generators/index.ts";

export type GeneratorKindsNeeds = {
  readonly keys: Pick<AccessKeys, "index">;
  readonly mint: KeyMint;
  readonly directory: Directory;
  readonly authorization: Pick<Authorization, "authorizer">;
};

/** The kind, and what its controller shares with it. */
export type GeneratorKinds = { readonly generators: ResourceDefinition; readonly writes: StatusWrites };

export function kubeconfigGeneratorKinds(
  { names, configuration, runtime, own, objects }: Foundation,
  { keys, mint, directory, authorization }: GeneratorKindsNeeds,
): GeneratorKinds {
  const writes = createStatusWrites();
  const { view, prefix } = objects(KUBECONFIG_GENERATORS, { namespaced: true });
  return {
    writes,
    generators: kubeconfigGenerators({
      names,
      configuration,
      runtime,
      keys: keys.index,
      accessKeys: () => own("OwnedAccessKey"),
      mint,
      directory,
      authorizer: authorization.authorizer,
      writes,
      countIn: (namespace) => view.count(`${prefix}${namespace}/`),
    }),
  };
}
