// Limits of kubeconfig generators: together they bound the keys, the Secrets and the work of a project.

/** Of a project. */
export const MAX_GENERATORS = 20;
/** Of one generator. */
export const MAX_CLUSTERS = 1_000;
/** Credentials that are made before others get their turn. */
export const KEYS_AT_ONCE = 25;
