// The pages of kubeconfig generators, loaded together.

export { GeneratorPage } from "./generator-page.tsx";
export { GeneratorsPage } from "./generators-page.tsx";
