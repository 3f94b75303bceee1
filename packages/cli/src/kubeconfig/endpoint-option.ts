// `--endpoint`: whether a kubeconfig leads through the platform or past it.

import { Option } from "commander";
import { KUBECONFIG_WAYS } from "./issue-kubeconfig.ts";

/** The option of commands for a credential, which has one endpoint. */
export const endpointOption = (): Option =>
  new Option(
    "--endpoint <way>",
    "for a connected or external virtual cluster: through the platform, which revokes at once, or to the cluster itself (default: as the credential says)",
  )
    .choices(KUBECONFIG_WAYS)
    .conflicts("clusterServer");

/** The option of commands for a kubeconfig, which may have a context for each endpoint. */
export const endpointsOption = (): Option =>
  new Option(
    "--endpoint <way>",
    "for a connected or external virtual cluster: through the platform, which revokes at once, to the cluster itself, or a context for each (default: as the credential says)",
  )
    .choices([...KUBECONFIG_WAYS, "Both"])
    .conflicts("clusterServer");
