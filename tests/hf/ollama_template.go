// A TEMPLATE of a Modelfile, rendered by Go's own text/template in the way that Ollama renders one.
//
// Standard input: {"template": TEXT, "messages": [{"role": ROLE, "content": TEXT}]}. Standard output: the prompt.
// A template with .Messages gets them all. Another one is run once for each question and its answer, and for the last
// time without what follows .Response. Reference: docs/template.mdx of Ollama, and its package template.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"
	"text/template/parse"
)

type message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	Thinking  string
	ToolCalls []string
}

// Whether a field of this name is read anywhere below a node.
func reads(node parse.Node, name string) bool {
	return strings.Contains(node.String(), "."+name)
}

// Nodes up to the first that writes the response; whether there was one.
func upToResponse(list *parse.ListNode) bool {
	if list == nil {
		return false
	}
	for n, node := range list.Nodes {
		found := false
		switch of := node.(type) {
		case *parse.ActionNode:
			if found = reads(of, "Response"); found {
				list.Nodes = list.Nodes[:n]
				return true
			}
		case *parse.IfNode:
			found = upToResponse(of.List) || upToResponse(of.ElseList)
		case *parse.WithNode:
			found = upToResponse(of.List) || upToResponse(of.ElseList)
		case *parse.RangeNode:
			found = upToResponse(of.List) || upToResponse(of.ElseList)
		}
		if found {
			list.Nodes = list.Nodes[:n+1]
			return true
		}
	}
	return false
}

// Neighbours of one role become one message.
func joined(messages []message) (system string, all []message) {
	var told []string
	for _, of := range messages {
		if of.Role == "system" {
			told = append(told, of.Content)
		}
		if last := len(all) - 1; last >= 0 && all[last].Role == of.Role && of.Role != "tool" {
			all[last].Content += "\n\n" + of.Content
		} else {
			all = append(all, of)
		}
	}
	return strings.Join(told, "\n\n"), all
}

func render(text string, messages []message) (string, error) {
	functions := template.FuncMap{"json": func(of any) string {
		written, _ := json.Marshal(of)
		return string(written)
	}}
	made, err := template.New("").Option("missingkey=zero").Funcs(functions).Parse(text)
	if err != nil {
		return "", err
	}
	system, all := joined(messages)
	var out strings.Builder
	if reads(made.Root, "Messages") {
		err = made.Execute(&out, map[string]any{"System": system, "Messages": all, "Response": "", "Think": false})
		return out.String(), err
	}
	turn := map[string]any{"System": "", "Prompt": "", "Response": "", "Think": false}
	told := func(names ...string) (some bool) {
		for _, name := range names {
			some = some || turn[name] != ""
		}
		return
	}
	write := func() {
		if failed := made.Execute(&out, turn); err == nil {
			err = failed
		}
		turn["System"], turn["Prompt"], turn["Response"] = "", "", ""
	}
	for _, of := range all {
		switch of.Role {
		case "system":
			if told("Prompt", "Response") {
				write()
			}
			turn["System"] = of.Content
		case "user":
			if told("Response") {
				write()
			}
			turn["Prompt"] = of.Content
		case "assistant":
			turn["Response"] = of.Content
		}
	}
	// A template that writes no response has it at its end, where nothing is cut.
	upToResponse(made.Root)
	write()
	return out.String(), err
}

func main() {
	var asked struct {
		Template string
		Messages []message
	}
	err := json.NewDecoder(os.Stdin).Decode(&asked)
	if err == nil {
		var text string
		text, err = render(asked.Template, asked.Messages)
		fmt.Print(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
