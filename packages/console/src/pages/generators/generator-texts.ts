// Adds the texts of kubeconfig generators, which load with their pages.

import generators from "../../texts/en-generators.json";
import { addTexts } from "../../texts/text.tsx";

addTexts(generators);
