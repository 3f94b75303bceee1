// Object names derived from display names.

/** `CI of the shop` → `ci-of-the-shop`, a valid Kubernetes name. */
export const nameFrom = (displayName: string): string =>
  displayName
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(/[^a-z0-9]/g, "-")
    .split("-")
    .filter((part) => part !== "")
    .join("-")
    .slice(0, 60);
