// Limits of kubeconfig generators: together they bound the keys, the Secrets and the work of a project.

/** Generators of a project. */
export const MAX_GENERATORS = 20;
/** Virtual clusters of one generator. */
export const MAX_CLUSTERS = 1_000;
/** Credentials that are made before others get their turn. */
export const KEYS_AT_ONCE = 25;
/** Bytes of spec.secretTemplate, which each of up to MAX_CLUSTERS Secrets has. */
export const MAX_TEMPLATE_SIZE = 16 * 1_024;
