// The names of what the first start makes.

export const FIRST_USER = "admin";
export const DEFAULT_PROJECT = "default";
export const DEMO_CLUSTER = "demo";
