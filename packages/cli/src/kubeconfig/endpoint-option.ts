// `--endpoint`: whether a kubeconfig leads through the platform or past it.

import { Option } from "commander";
import { KUBECONFIG_WAYS } from "./issue-kubeconfig.ts";

export const endpointOption = (): Option =>
  new Option(
    "--endpoint <way>",
    "for a connected or external virtual cluster: through the platform, which revokes at once, or to the cluster itself (default: as the credential says)",
  )
    .choices(KUBECONFIG_WAYS)
    .conflicts("clusterServer");
