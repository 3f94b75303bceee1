// In a cluster without nodes, workloads are rejected, unless the cluster stores them: they would never run.

import { type AdmissionPlugin, forbiddenByAdmission } from "@postern/apiserver/registry/admission-plugin";
import { isWorkload } from "../cluster-kinds.ts";

/** Asked at every creation of a workload, so that a change counts at once. */
export const createNoNodesAdmission = (keepsWorkloads: () => boolean): AdmissionPlugin => ({
  name: "NoNodes",
  admit(attributes) {
    const { operation, subresource, resource, object } = attributes;
    if (operation !== "create" || subresource !== "" || !isWorkload(resource) || keepsWorkloads()) return object;
    throw forbiddenByAdmission(
      attributes,
      "this virtual cluster has no nodes, so that no pods run in it; it keeps them as objects where spec.template.workloads of its VirtualClusterInstance is stored or controlled",
    );
  },
});
