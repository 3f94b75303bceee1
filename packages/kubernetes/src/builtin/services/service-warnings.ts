// Warnings about Services that are valid, and yet not what their author means.
// Source: k8s.io/kubernetes/pkg/api/service/warnings.go

import { indexPath } from "@postern/apimachinery/validation/field-error";
import { addressWarnings, networkWarnings } from "../address-warnings.ts";
import { isHeadless, type Service } from "./service.ts";

const OLD_HINTS = "service.kubernetes.io/topology-aware-hints";
const HINTS = "service.kubernetes.io/topology-mode";
/** Entries of one list that are looked at. */
const MOST = 100;

export function serviceWarnings(service: Service): readonly string[] {
  const { metadata, spec = {} } = service;
  const { clusterIPs = [], externalIPs = [], loadBalancerSourceRanges = [] } = spec;
  const { loadBalancerIP = "", sessionAffinity, externalName = "", trafficDistribution, type } = spec;
  const warnings: string[] = [];
  const isExternal = type === "ExternalName";
  const isWithoutAddress = type === "ClusterIP" && isHeadless(service);
  if (metadata.annotations?.[OLD_HINTS] !== undefined)
    warnings.push(`annotation ${OLD_HINTS} is deprecated, please use ${HINTS} instead`);
  if (!isHeadless(service)) {
    for (const [index, address] of clusterIPs.entries())
      warnings.push(...addressWarnings(indexPath("spec.clusterIPs", index), address));
  }
  if (isWithoutAddress) {
    if (loadBalancerIP !== "") warnings.push("spec.loadBalancerIP is ignored for headless services");
    if (externalIPs.length > 0) warnings.push("spec.externalIPs is ignored for headless services");
    if (sessionAffinity !== "None") warnings.push("spec.SessionAffinity is ignored for headless services");
  }
  for (const [index, address] of externalIPs.slice(0, MOST).entries())
    warnings.push(...addressWarnings(indexPath("spec.externalIPs", index), address));
  if (externalIPs.length > 0 && !isWithoutAddress && !isExternal)
    warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  warnings.push(...addressWarnings("spec.loadBalancerIP", loadBalancerIP));
  for (const [index, network] of loadBalancerSourceRanges.slice(0, MOST).entries())
    warnings.push(...networkWarnings(indexPath("spec.loadBalancerSourceRanges", index), network.trim()));
  if (isExternal && externalIPs.length > 0)
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!isExternal && externalName !== "")
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  if (trafficDistribution === "PreferClose")
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  return warnings;
}
