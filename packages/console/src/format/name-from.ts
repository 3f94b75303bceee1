// Names for the API, made of names for people.

/** `CI of the shop` → `ci-of-the-shop`: what Kubernetes takes as a name. */
export const nameFrom = (displayName: string): string =>
  displayName
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(/[^a-z0-9]/g, "-")
    .split("-")
    .filter((part) => part !== "")
    .join("-")
    .slice(0, 60);
