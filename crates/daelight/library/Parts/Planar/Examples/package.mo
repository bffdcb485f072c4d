within Parts.Planar;
package Examples "Pendulums and linkages"
end Examples;
