within Parts;
package Examples "Machines made of parts of several kinds"
end Examples;
