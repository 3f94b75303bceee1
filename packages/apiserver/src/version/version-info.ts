// Serves `/version`.
// Source: k8s.io/apimachinery/pkg/version/types.go

import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import { type ApiResponse, jsonResponse } from "../transport/api-response.ts";

/** kubectl reads `gitVersion` as a semantic version and warns when it is more than one minor away from its own. */
export type VersionInfo = {
  readonly major: string;
  readonly minor: string;
  /** The version whose behaviour is followed, and the oldest one that it works beside; of kube-apiserver since 1.33. */
  readonly emulationMajor?: string;
  readonly emulationMinor?: string;
  readonly minCompatibilityMajor?: string;
  readonly minCompatibilityMinor?: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
  /** The version of the product, for clients that compare it. Kubernetes has no such member. */
  readonly version?: string;
};

/** Throws ApiError 405 for anything but reading. */
export function createVersionHandler(info: VersionInfo): (method: string) => ApiResponse {
  const response = jsonResponse(200, `${JSON.stringify(info, null, 2)}\n`);
  return (method) => {
    if (method !== "GET") throw methodNotAllowedError();
    return response;
  };
}
